/**
 * The address of NATS, with a user and password or a token in it.
 *
 * Public types import none of the library's, which do not compile with every option of TypeScript.
 */
export interface Address {
  /** URLs such as `nats://127.0.0.1:4222`, or `tls://…` for an encrypted connection. Credentials are those of the first one. */
  readonly servers: ReadonlyArray<string>
}
