export * from "./MockProvider.ts"
