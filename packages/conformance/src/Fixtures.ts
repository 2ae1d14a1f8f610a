/**
 * Rows that tests need, and reads that several suites share.
 *
 * `newTag` and the like return a row that is not stored; `tag` and the like commit one, and return it.
 */
export * from "./Fixtures/Accounts.ts"
export * from "./Fixtures/Base.ts"
export * from "./Fixtures/Catalog.ts"
export * from "./Fixtures/Contacts.ts"
export * from "./Fixtures/Idempotency.ts"
export * from "./Fixtures/Lists.ts"
export * from "./Fixtures/Messaging.ts"
export * from "./Fixtures/Webhooks.ts"
export * from "./Fixtures/Work.ts"
