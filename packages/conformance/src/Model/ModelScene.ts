/** The services and the organizations of a run of the model test. */
import type { Services } from "@messaging-crm/core/Crm"
import type { ScriptedEndpoints } from "../Endpoints.ts"
import type { ScriptedProvider } from "../Provider.ts"
import type { Names } from "./Names.ts"
import type { Organization } from "./State.ts"

/** The services that commands use: the operations, the scripted provider and endpoints. */
export type Requirements = Services | ScriptedProvider | ScriptedEndpoints

/** Two isolated organizations. Commands act for one of them, `ours`. */
export interface ModelScene {
  readonly names: Names
  readonly ours: Organization
  readonly theirs: Organization
}

/** Returns the scene in which commands act for the other organization. */
export const swapped = (scene: ModelScene): ModelScene => ({ ...scene, ours: scene.theirs, theirs: scene.ours })
