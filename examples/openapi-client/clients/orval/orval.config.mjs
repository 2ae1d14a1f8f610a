export default {
  api: {
    input: "../../../../packages/adapter-http/openapi.json",
    output: {
      target: "generated/api.ts",
      client: "fetch",
      baseUrl: { runtime: "process.env.BASE_URL" }
    }
  }
}
