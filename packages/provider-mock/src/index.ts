export { Answer, Behavior } from "./Behaviors.ts"
export * from "./MockProvider.ts"
export { picture } from "./Picture.ts"
export { Target } from "./Scripts.ts"
