/** The HTML of the page. */

/** The path of the script that shows the document. */
export const script_path = "/docs/explorer.js"

/** Returns a value as JSON that cannot end the element that contains it. */
const json = (value: unknown): string => JSON.stringify(value).replaceAll("<", "\\u003c")

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("\"", "&quot;")

/** Shows the document of the page. It is in the page, because a page that sends no requests cannot fetch it. */
export const start_script = `
  const page = document.querySelector("openapi-explorer")
  page.loadSpec(JSON.parse(document.getElementById("document").textContent))
`

/** The settings of a page that sends no requests. */
const documentation = "hide-console=\"true\" hide-authentication=\"true\" "

/** Returns the page. `script` is its own script, and `integrity` the hash of the one at `script_path`. */
export const htmlOf = (
  { document, integrity, script, sends }: {
    readonly document: { readonly info: { readonly title: string } }
    readonly integrity: string
    readonly script: string
    readonly sends: boolean
  }
): string =>
  `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escaped(document.info.title)}</title>
    <link rel="icon" href="data:,">
    <style>
      openapi-explorer {
        --font-regular: system-ui, sans-serif;
        --font-mono: ui-monospace, monospace;
      }
    </style>
  </head>
  <body>
    <openapi-explorer ${
    sends ? "" : documentation
  }hide-server-selection="true" primary-color="#1f5f8b" secondary-color="#1f5f8b" nav-bg-color="#f6f8fa" nav-text-color="#3b4652" nav-hover-bg-color="#e4e9ee" nav-hover-text-color="#10212f"></openapi-explorer>
    <noscript>This page requires JavaScript. The OpenAPI document is at <a href="/v1/openapi.json">/v1/openapi.json</a>.</noscript>
    <script type="application/json" id="document">${json(document)}</script>
    <script src="${script_path}" integrity="${integrity}"></script>
    <script>${script}</script>
  </body>
</html>
`
