/** The bytes of a file: how they arrive from a provider, and how they are cut into slices to be stored. */
import { Effect, Predicate, Schema, SchemaGetter, SchemaIssue, Stream } from "effect"
import { limits } from "../kernel/Limits.ts"

// ---------------------------------------------------------------- data

/** The bytes of a file as they arrive, in chunks of any size. */
export type FileStream = Stream.Stream<Uint8Array, FileAbsent | FileUnavailable>

/** The bytes of a file: in memory, or as a stream that is read once the file is stored. */
export type FileBytes = Uint8Array | FileStream

const isFileBytes = (value: unknown): value is FileBytes => Predicate.isUint8Array(value) || Stream.isStream(value)

const concat = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(chunks.reduce((total, { byteLength }) => total + byteLength, 0))
  chunks.reduce((start, chunk) => (whole.set(chunk, start), start + chunk.byteLength), 0)
  return whole
}

/** Schema of a file's bytes: base64 in JSON, for which a stream is read to its end. */
export const FileBytes = Schema.Uint8ArrayFromBase64.pipe(
  Schema.decodeTo(Schema.declare(isFileBytes), {
    decode: SchemaGetter.passthroughSubtype(),
    encode: SchemaGetter.transformEffect((bytes) =>
      Predicate.isUint8Array(bytes)
        ? Effect.succeed(bytes)
        : Stream.runCollect(bytes).pipe(
          Effect.map(concat),
          Effect.mapError(() => new SchemaIssue.InvalidValue({ expected: "a readable file" }))
        )
    )
  })
)

/** The bytes that one statement writes or reads. A streamed file is in memory one slice at a time. */
export const slice_bytes = 262_144

// -------------------------------------------------------------- errors

/** The provider has no such file any more. Its message is stored without it. */
export class FileAbsent extends Schema.TaggedError<FileAbsent>()("FileAbsent", {}) {}

/** The file cannot be read at the moment, so its message is not stored either: the event should be repeated later. */
export class FileUnavailable extends Schema.TaggedError<FileUnavailable>()("FileUnavailable", {}) {}

/** The file is larger than the limit. */
class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", {}) {}

// ---------------------------------------------------------- operations

/** Cuts chunks of any size into slices, and passes each on with its place. Returns the number of bytes. */
export const inSlices = Effect.fnUntraced(function*(
  bytes: FileStream,
  take: (slice: { readonly start: number; readonly bytes: Uint8Array }) => Effect.Effect<void>
) {
  const buffer = new Uint8Array(slice_bytes)
  let [start, filled] = [0, 0]
  const flush = Effect.suspend(() => {
    const slice = { start, bytes: buffer.slice(0, filled) }
    start += filled
    filled = 0
    return slice.bytes.byteLength === 0 ? Effect.void : take(slice)
  })
  yield* Stream.runForEach(
    bytes,
    Effect.fnUntraced(function*(chunk) {
      if (start + filled + chunk.byteLength > limits.media_bytes_max) return yield* new TooLarge()
      for (let taken = 0; taken < chunk.byteLength;) {
        const part = chunk.subarray(taken, taken + slice_bytes - filled)
        buffer.set(part, filled)
        filled += part.byteLength
        taken += part.byteLength
        if (filled === slice_bytes) yield* flush
      }
    })
  )
  yield* flush
  return start
})
