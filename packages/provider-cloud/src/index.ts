export * from "./CloudProvider.ts"
