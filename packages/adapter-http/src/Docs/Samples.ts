/** Code samples of an operation. They read the variables `BASE_URL` and `API_KEY`, as the guides do. */

/** A request that a sample sends. */
export interface Call {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Undefined without a body. */
  readonly body: unknown
}

export interface Sample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

const indented = (text: string, spaces: number): string => text.replaceAll("\n", `\n${" ".repeat(spaces)}`)

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** Returns the lines of a text that is made for each header. */
const headerLines = ({ headers }: Call, lineOf: (name: string, value: string) => string): string =>
  Object.entries(headers).map(([name, value]) => lineOf(name, value)).join("")

const curl = (call: Call): string => {
  const method = call.method === (call.body === undefined ? "GET" : "POST") ? "" : `-X ${call.method} `
  const headers = headerLines(call, (name, value) => ` \\\n  -H "${name}: ${value}"`)
  const body = call.body === undefined ? "" : ` \\\n  -d '${json(call.body).replaceAll("'", "'\\''")}'`
  return `curl ${method}"$BASE_URL${call.path}" \\\n  -H "Authorization: Bearer $API_KEY"${headers}${body}`
}

const javaScript = (call: Call): string => {
  const headers = headerLines(call, (name, value) => `,\n    "${name}": "${value}"`)
  const body = call.body === undefined ? "" : `,\n  body: JSON.stringify(${indented(json(call.body), 2)})`
  return `const response = await fetch(\`\${process.env.BASE_URL}${call.path}\`, {
  method: "${call.method}",
  headers: {
    "Authorization": \`Bearer \${process.env.API_KEY}\`${headers}
  }${body}
})
console.log(response.status, await response.text())`
}

/** Returns JSON as a literal of Python, which has other names for three values. */
const pythonOf = (value: unknown): string => {
  if (value === null) return "None"
  if (typeof value === "boolean") return value ? "True" : "False"
  if (typeof value !== "object") return JSON.stringify(value)
  const items = Array.isArray(value)
    ? value.map(pythonOf)
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${pythonOf(item)}`)
  const [start, end] = Array.isArray(value) ? "[]" : "{}"
  return items.length === 0
    ? `${start}${end}`
    : `${start}\n    ${items.map((item) => indented(item, 4)).join(",\n    ")}\n${end}`
}

const python = (call: Call): string => {
  const headers = headerLines(call, (name, value) => `,\n        "${name}": "${value}"`)
  const body = call.body === undefined ? "" : `\n    json=${indented(pythonOf(call.body), 4)},`
  return `import os
import requests

response = requests.request(
    "${call.method}",
    os.environ["BASE_URL"] + "${call.path}",
    headers={
        "Authorization": "Bearer " + os.environ["API_KEY"]${headers}
    },${body}
)
print(response.status_code, response.text)`
}

const php = (call: Call): string => {
  const headers = headerLines(call, (name, value) => `\n        "${name}: ${value}",`)
  const body = call.body === undefined
    ? ""
    : `\n    CURLOPT_POSTFIELDS => <<<'JSON'\n        ${indented(json(call.body), 8)}\n        JSON,`
  return `<?php
$request = curl_init(getenv("BASE_URL") . "${call.path}");
curl_setopt_array($request, [
    CURLOPT_CUSTOMREQUEST => "${call.method}",
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [
        "Authorization: Bearer " . getenv("API_KEY"),${headers}
    ],${body}
]);
$response = curl_exec($request);
echo curl_getinfo($request, CURLINFO_RESPONSE_CODE), " ", $response, "\\n";`
}

/** Returns a literal of Go. A raw one cannot contain a backtick. */
const goText = (text: string): string => text.includes("`") ? JSON.stringify(text) : `\`${text}\``

const go = (call: Call): string => {
  const headers = headerLines(call, (name, value) => `\n\trequest.Header.Set("${name}", "${value}")`)
  const body = call.body === undefined ? "nil" : `strings.NewReader(${goText(json(call.body))})`
  const imports = ["fmt", "io", "log", "net/http", "os", ...(call.body === undefined ? [] : ["strings"])]
  return `package main

import (
${imports.map((name) => `\t"${name}"`).join("\n")}
)

func main() {
	request, err := http.NewRequest("${call.method}", os.Getenv("BASE_URL")+"${call.path}", ${body})
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))${headers}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.StatusCode, string(text))
}`
}

/** Returns the samples of a call, one for each language. */
export const samplesOf = (call: Call): ReadonlyArray<Sample> => [
  { lang: "bash", label: "curl", source: curl(call) },
  { lang: "javascript", label: "JavaScript", source: javaScript(call) },
  { lang: "python", label: "Python", source: python(call) },
  { lang: "php", label: "PHP", source: php(call) },
  { lang: "go", label: "Go", source: go(call) }
]
