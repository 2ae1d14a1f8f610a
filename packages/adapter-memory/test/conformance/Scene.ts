export { layer as storage } from "@messaging-crm/adapter-memory"

export const options = { runs: Number(process.env["PROPERTY_RUNS"] ?? 50) }
