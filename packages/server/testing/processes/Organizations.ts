/** Organizations in the database of a cluster, which admin operations create in this process. */
import { ConfigProvider, Effect, Layer } from "effect"
import * as AdminOperations from "../../src/cli/AdminOperations.ts"
import { createOrganization } from "../TestOrganization.ts"

/** Creates an organization with an owner, a phone channel, and an API key. */
export const create = (environment: Readonly<Record<string, string>>) =>
  createOrganization.pipe(
    Effect.map(({ channel, key, key_id, member_id, organization_id }) => ({
      organization_id,
      member_id,
      channel_id: channel.id,
      key_id,
      key
    })),
    Effect.provide(
      AdminOperations.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment))))
    ),
    Effect.orDie
  )
