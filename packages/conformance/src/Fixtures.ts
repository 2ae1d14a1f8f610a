/** Rows that tests need before they begin, each written by a commit. */
export * from "./Fixtures/Accounts.ts"
export * from "./Fixtures/Base.ts"
export * from "./Fixtures/Catalog.ts"
export * from "./Fixtures/Contacts.ts"
export * from "./Fixtures/Messaging.ts"
export * from "./Fixtures/Webhooks.ts"
