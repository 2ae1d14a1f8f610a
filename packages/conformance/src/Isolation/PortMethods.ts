/** Every method of the storage ports, by what it does to rows. A new one does not compile until it is in a list. */
import type { StoragePorts } from "@messaging-crm/core/Crm"

/** The name of a port, with which its key ends. */
export type NameOf<Key extends string> = Key extends `${string}/${infer Rest}` ? NameOf<Rest> : Key

/** The names of each port's methods. */
type Methods = { readonly [Port in StoragePorts as NameOf<Port["key"]>]: keyof Port["Service"] & string }
type Lists = { readonly [Port in keyof Methods]?: ReadonlyArray<Methods[Port]> }

/** A method with its port, such as `ContactStore.insertNew`. */
type Named<Names> = { [Port in keyof Names & string]: `${Port}.${Names[Port] & string}` }[keyof Names & string]
type Listed<L extends Lists> = Named<{ readonly [Port in keyof L]: NonNullable<L[Port]>[number & keyof L[Port]] }>

const reads = {
  AuditStore: ["list"],
  CallbackStore: ["backlog", "load"],
  ChannelAccountStore: ["locateByAccount", "locateByBusinessAccount", "sealedOtherwise"],
  ChannelHoldStore: ["countPaused"],
  ContactStore: ["find", "identify", "knownPeople", "list", "load", "match"],
  ConversationStore: ["find", "identify", "list"],
  EventStore: ["committed", "find", "haveNext", "lastCommitted", "list", "next"],
  IdempotencyStore: ["find"],
  MediaStore: ["find", "read"],
  MessageStore: ["find", "findByProviderId", "list"],
  OrganizationStore: ["find", "list"],
  PersonalDataStore: ["conversations", "messages", "networkIds", "sends"],
  Rows: ["find", "findMany", "list", "locate"],
  SecretCanaryStore: ["find"],
  SendStore: ["find", "list", "load"],
  WebhookDeliveryStore: ["list", "load"],
  WebhookStore: ["countActive", "list", "sealedOtherwise"],
  WorkQueue: ["backlog"]
} as const satisfies Lists

/** The methods that delete expired rows of every organization, which `purges` of `Housekeeping` runs. */
export const purging = {
  AuditStore: ["purge"],
  EventStore: ["purge"],
  IdempotencyStore: ["purge"],
  MediaStore: ["purgeUnfinished"],
  MessageRetentionStore: ["purge"],
  MessageStore: ["purgeEarlyUpdates"],
  StorageUseStore: ["purge"]
} as const satisfies Lists

/** The other methods that write rows of every organization, for workers and operators. */
const of_every_organization = {
  SecretCanaryStore: ["insert", "replace"],
  WebhookDeliveryStore: ["claim"],
  WorkQueue: ["claim", "sweep"]
} as const satisfies Lists

type ListedMethod = Listed<typeof reads> | Listed<typeof purging> | Listed<typeof of_every_organization>

/** A method that writes the rows of one organization. The parts of a commit stand for `Commit`. */
export type OrganizationWrite = Exclude<Named<Methods>, ListedMethod | "Commit.commit">
