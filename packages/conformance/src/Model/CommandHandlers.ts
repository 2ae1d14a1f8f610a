/** How each command runs on the service and on the model. */
import type { Effect } from "effect"
import type { Command } from "./Commands.ts"
import type { ModelScene, Requirements } from "./ModelScene.ts"

export type CommandHandlers = {
  readonly [K in Command["do"]]: (
    scene: ModelScene,
    command: Command<K>
  ) => Effect.Effect<void, never, Requirements>
}
