import { Context, type Effect, type Scope } from "effect"
import type { FileAbsent, FileStream, FileUnavailable } from "./Media.ts"

// ---------------------------------------------------------------- data

/** The response to a download. */
export interface Download {
  readonly status: number
  /** The declared size; null where none is declared. */
  readonly byte_size: number | null
  /** The body, until the scope closes. */
  readonly bytes: FileStream
}

// ---------------------------------------------------------------- port

/**
 * Port: requests files from addresses that no setting names, such as a link in a callback.
 *
 * **Contract** (checked by `adapter-http/test/outbound/Downloads.test.ts`)
 *
 * - Nothing is ever sent to an address that is neither public nor allowed: that is
 *   `FileAbsent`, and so is a URL with a protocol other than https. The address that is
 *   connected to is the one that was checked.
 * - Every response with a status is returned, even a redirect, which is not followed.
 * - The host receives the given headers, and no header with this service's traces.
 * - A host that cannot be reached, and a response that breaks off, is `FileUnavailable`.
 * - The caller bounds the time: the request ends with its scope.
 */
export class Downloads extends Context.Service<Downloads, {
  readonly get: (
    url: string,
    headers: Readonly<Record<string, string>>
  ) => Effect.Effect<Download, FileAbsent | FileUnavailable, Scope.Scope>
}>()("@messaging-crm/core/Downloads") {}
