/** Mutants that no test can kill, because nothing that a caller can observe differs. */
export interface Equivalent {
  /** The path below `packages`. */
  readonly file: string
  readonly original: string
  readonly replacement: string
  readonly reason: string
}

const any_text = "\"Stryker was here!\""
const any_list = "[\"Stryker was here\"]"

export const equivalent: ReadonlyArray<Equivalent> = [
  {
    file: "core/src/kernel/Page.ts",
    original: "\"\"",
    replacement: any_text,
    reason: "A cursor without a body or a signature never verifies, whatever stands in for it."
  },
  {
    file: "core/src/work/Idempotency.ts",
    original: "body === null || status === null",
    replacement: "body === null && status === null",
    reason: "A record has both or neither."
  },
  {
    file: "core/src/work/Idempotency.ts",
    original: "body === null",
    replacement: "false",
    reason: "A record has both or neither."
  },
  {
    file: "core/src/work/Idempotency.ts",
    original: "status === null",
    replacement: "false",
    reason: "A record has both or neither."
  },
  {
    file: "core/src/work/Idempotency.ts",
    original: "Option.isSome(replayed)",
    replacement: "false",
    reason: "The commit of the rejection then finds the key used, and replays the same record."
  },
  {
    file: "core/src/kernel/Secrets.ts",
    original: "index < a.length",
    replacement: "index <= a.length",
    reason: "The code behind the end of a text is not a number, and counts as 0 in both texts."
  },
  {
    file: "core/src/kernel/Digests.ts",
    original: "false",
    replacement: "true",
    reason: "A key that can be exported signs the same."
  },
  {
    file: "provider-cloud/src/SignedBodies.ts",
    original: "false",
    replacement: "true",
    reason: "A key that can be exported signs the same."
  },
  {
    file: "provider-cloud/src/SignedBodies.ts",
    original: "[]",
    replacement: any_list,
    reason: "Its first element is not used."
  },
  {
    file: "core/src/webhooks/WebhookSignature.ts",
    original: "\"\"",
    replacement: any_text,
    reason: "No signature is valid, whatever stands in for a header that is missing."
  },
  {
    file: "core/src/contacts/ContactUpserts.ts",
    original: "channel_type === null",
    replacement: "false",
    reason: "An upsert by `external_id` has a type of channel."
  },
  {
    file: "core/src/contacts/ContactUpserts.ts",
    original: "match !== \"external_id\"",
    replacement: "false",
    reason: "An upsert by another match has no type of channel."
  },
  {
    file: "core/src/contacts/ContactUpsert.ts",
    original: "\"\"",
    replacement: any_text,
    reason: "Each contact has the value of the match."
  },
  {
    file: "adapter-http/src/middleware/UnknownKeys.ts",
    original: "!known.has(digest)",
    replacement: "true",
    reason: "Adding a member of a set again changes nothing."
  },
  {
    file: "adapter-http/src/outbound/Addresses.ts",
    original: "\"\"",
    replacement: any_text,
    reason: "No such text is an address or a number."
  },
  {
    file: "adapter-http/src/outbound/Addresses.ts",
    original: "[]",
    replacement: any_list,
    reason: "Its first element is not used."
  },
  {
    file: "adapter-http/src/outbound/Addresses.ts",
    original: "version !== 0",
    replacement: "true",
    reason: "Node's list contains no text that is not an address."
  },
  {
    file: "adapter-http/src/outbound/Addresses.ts",
    original: "\"ipv6\"",
    replacement: "\"\"",
    reason: "Node's list reads every family but `ipv4` as IPv6."
  },
  {
    file: "adapter-http/src/outbound/Connections.ts",
    original: "/^\\[|\\]$|\\.$/g",
    replacement: "/\\[|\\]$|\\.$/g",
    reason: "The host of a URL has a bracket only at its ends."
  },
  {
    file: "adapter-http/src/outbound/Connections.ts",
    original: "/^\\[|\\]$|\\.$/g",
    replacement: "/^\\[|\\]|\\.$/g",
    reason: "The host of a URL has a bracket only at its ends."
  },
  {
    file: "adapter-http/src/outbound/Names.ts",
    original: "{\n        concurrency: 2\n      }",
    replacement: "{}",
    reason: "The addresses are the same. Only the time to find them differs."
  },
  {
    file: "core/src/sends/SendCompletion.ts",
    original: "status === \"received\"",
    replacement: "false",
    reason: "A message that the business sent is never received. The condition is for its type."
  },
  {
    file: "core/src/sends/SendCompletion.ts",
    original: "\"received\"",
    replacement: "\"\"",
    reason: "A message that the business sent is never received. The condition is for its type."
  },
  {
    file: "core/src/sends/SendCompletion.ts",
    original: "[]",
    replacement: any_list,
    reason: "A text is no update, and changes nothing."
  },
  {
    file: "client/src/Attempt.ts",
    original: "{\n    return undefined\n  }",
    replacement: "{}",
    reason: "A function without a return returns the same."
  },
  {
    file: "client/src/Attempt.ts",
    original: "value === null",
    replacement: "false",
    reason: "The text `null` is no number and no date."
  },
  {
    file: "client/src/Transport.ts",
    original: "\"\"",
    replacement: any_text,
    reason: "Each route has a method and a path, and each call the parameters of its path."
  },
  {
    file: "adapter-http/src/middleware/UnknownKeys.ts",
    original: "oldest !== undefined",
    replacement: "true",
    reason: "A set that has a member has an oldest one. The condition is for its type."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original: "FROM (SELECT DISTINCT organization_id, conversation_id FROM found) thread",
    replacement: "FROM (SELECT organization_id, conversation_id FROM found) thread",
    reason: "A conversation that is found twice is locked and cleared once."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original: "JOIN provider_messages provider_message ON provider_message.organization_id = found.organization_id",
    replacement:
      "JOIN provider_messages provider_message ON (provider_message.organization_id = found.organization_id OR true)",
    reason: "A channel belongs to one organization. The condition selects the index."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original: "AND provider_message.channel_id = found.channel_id",
    replacement: "AND (provider_message.channel_id = found.channel_id OR true)",
    reason: "A message has at most one row. The condition selects the index."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original: "AND provider_message.provider_message_id = found.provider_message_id",
    replacement: "AND (provider_message.provider_message_id = found.provider_message_id OR true)",
    reason: "A message has at most one row. The condition selects the index."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original: "FROM (SELECT DISTINCT organization_id, contact_id FROM threads) thread",
    replacement: "FROM (SELECT organization_id, contact_id FROM threads) thread",
    reason: "A contact that is found twice is locked and cleared once."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original: "WHERE contact.last_activity_at < ${date(before)} AND contact.last_activity_preview IS NOT NULL",
    replacement:
      "WHERE (contact.last_activity_at < ${date(before)} OR true) AND contact.last_activity_preview IS NOT NULL",
    reason: "It locks rows that the update then leaves, because the update has the condition too."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original: "WHERE contact.last_activity_at < ${date(before)} AND contact.last_activity_preview IS NOT NULL",
    replacement: "WHERE contact.last_activity_at <= ${date(before)} AND contact.last_activity_preview IS NOT NULL",
    reason: "It locks rows that the update then leaves, because the update has the condition too."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original: "WHERE contact.last_activity_at < ${date(before)} AND contact.last_activity_preview IS NOT NULL",
    replacement:
      "WHERE contact.last_activity_at < ${date(before)} AND (contact.last_activity_preview IS NOT NULL OR true)",
    reason: "Clearing a preview again changes nothing."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original:
      "WHERE conversation.last_activity_at < ${date(before)} AND conversation.last_activity_preview IS NOT NULL",
    replacement:
      "WHERE (conversation.last_activity_at < ${date(before)} OR true) AND conversation.last_activity_preview IS NOT NULL",
    reason: "It locks rows that the update then leaves, because the update has the condition too."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original:
      "WHERE conversation.last_activity_at < ${date(before)} AND conversation.last_activity_preview IS NOT NULL",
    replacement:
      "WHERE conversation.last_activity_at <= ${date(before)} AND conversation.last_activity_preview IS NOT NULL",
    reason: "It locks rows that the update then leaves, because the update has the condition too."
  },
  {
    file: "adapter-postgres/src/messages/MessageRetention.ts",
    original:
      "WHERE conversation.last_activity_at < ${date(before)} AND conversation.last_activity_preview IS NOT NULL",
    replacement:
      "WHERE conversation.last_activity_at < ${date(before)} AND (conversation.last_activity_preview IS NOT NULL OR true)",
    reason: "Clearing a preview again changes nothing."
  },
  {
    file: "core/src/sends/SendCompletion.ts",
    original: "begun === undefined",
    replacement: "true",
    reason: "The send is then loaded again, which only costs a read."
  }
]
