/** The HTML of the page. */

/** The path of the script that shows the document. */
export const script_path = "/docs/explorer.js"

/** Returns a value as JSON that cannot end the element that contains it. */
const json = (value: unknown): string => JSON.stringify(value).replaceAll("<", "\\u003c")

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("\"", "&quot;")

const light = {
  "primary-color": "#1f5f8b",
  "secondary-color": "#1f5f8b",
  "nav-bg-color": "#f6f8fa",
  "nav-text-color": "#3b4652",
  "nav-hover-bg-color": "#e4e9ee",
  "nav-hover-text-color": "#10212f"
}

const dark: Partial<Record<string, string>> = {
  "bg-color": "#14191f",
  "text-color": "#dbe2e8",
  "primary-color": "#6cb6e8",
  "secondary-color": "#6cb6e8",
  "nav-bg-color": "#1b222a",
  "nav-text-color": "#c3ccd4",
  "nav-hover-bg-color": "#2a343f",
  "nav-hover-text-color": "#f1f5f8"
}

const attributes = Object.entries(light).map(([name, color]) => `${name}="${color}"`).join(" ")

/** Shows the document of the page. It is in the page, because a page that sends no requests cannot fetch it. */
export const start_script = `
  const page = document.querySelector("openapi-explorer")
  if (matchMedia("(prefers-color-scheme: dark)").matches) {
    for (const [name, color] of Object.entries(${json(dark)})) page.setAttribute(name, color)
  }
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
    <openapi-explorer ${sends ? "" : documentation}hide-server-selection="true" ${attributes}></openapi-explorer>
    <noscript>This page requires JavaScript. The OpenAPI document is at <a href="/v1/openapi.json">/v1/openapi.json</a>.</noscript>
    <script type="application/json" id="document">${json(document)}</script>
    <script src="${script_path}" integrity="${integrity}"></script>
    <script>${script}</script>
  </body>
</html>
`
