/** The paths of the large responses that are the same for every client. The server prepares each at its first request. */
export const static_paths: ReadonlyArray<string> = ["/docs", "/docs/explorer.js", "/v1/openapi.json"]
