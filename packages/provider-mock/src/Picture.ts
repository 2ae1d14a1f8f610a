import { Schema } from "effect"

/** A smiling face of 64 by 64 pixels, as a PNG. */
export const picture: Uint8Array = Schema.decodeSync(Schema.Uint8ArrayFromBase64)(
  [
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAgMAAADXB5lNAAAACVBMVEX/////yCg8KBRMgEB5AAAA2UlEQVR42r2TwRGEIAxF5WAJ",
    "9kMJHsADJdiPJXggVa7yEwLE3dnZw2ZGGN6ERJL8afrSXIx+OPckFtPzDLAODuriBEiURUAYbsgdp8C3OTTPoiAMITjICFwLfB8T",
    "UQ1YWhAYUOQlcJIKIsBGBy9PwPXA/wLmPu36BrSP+RtIJw73vt6/3gL/CLYMsB8CCIAKmORZ2FDTUgk4AuwlasoAV6MS6nHWzmkJ",
    "AzebCF/t/k6XZQYo+2WHjGGES+5njEiHzoylGVwz2mb4rTyMgIzErAiNTK2QjdQ/2QsJUgPUbfcozgAAAABJRU5ErkJggg=="
  ].join("")
)
