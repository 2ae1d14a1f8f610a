/** How each command runs on the service and on the model. */
import type { Effect } from "effect"
import type { Command } from "./Commands.ts"
import type { Requirements, Scene } from "./ModelScene.ts"

export type CommandHandlers = {
  readonly [K in Command["do"]]: (
    scene: Scene,
    command: Command<K>
  ) => Effect.Effect<void, never, Requirements>
}
