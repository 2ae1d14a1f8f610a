/** The operators of the organizations, whose commands run in this process over their own database connection. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { ConfigProvider, type Context, Effect, Layer } from "effect"
import * as AdminOperations from "../../../packages/server/src/cli/AdminOperations.ts"
import type { Installation, Organization } from "./Cluster.ts"

type Services = typeof AdminOperations.layer extends Layer.Layer<infer A, infer _E, infer _R> ? A : never

/** Connects to the databases, and returns a function that runs commands of an organization's operator. Failures are defects. */
export const make = Effect.fnUntraced(function*({ environment, organizations }: Installation) {
  const { CELLS: _, ...others } = environment
  const connect = Effect.fnUntraced(function*({ database_url }: Organization) {
    const settings = ConfigProvider.fromUnknown({ ...others, DATABASE_URL: database_url, DATABASE_POOL: "2" })
    const services: Context.Context<Services> = yield* Effect.orDie(
      Layer.build(AdminOperations.layer.pipe(Layer.provide(ConfigProvider.layer(settings))))
    )
    return services
  })
  const connected = new Map(
    yield* Effect.forEach(
      organizations,
      (organization) => Effect.map(connect(organization), (services) => [organization, services] as const)
    )
  )
  return (organization: Organization) =>
  <A, E>(command: Effect.Effect<A, E, CurrentActor | Services>): Effect.Effect<A> => {
    const services = connected.get(organization)
    if (services === undefined) return Effect.die(new Error("The organization is not of this cluster."))
    return command.pipe(
      Effect.provideService(CurrentActor, {
        organization_id: OrganizationId.make(organization.organization_id),
        member_id: null
      }),
      Effect.provide(services),
      Effect.orDie
    )
  }
})

export type Operators = Effect.Success<ReturnType<typeof make>>
