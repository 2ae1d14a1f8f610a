import { layer } from "@messaging-crm/adapter-memory"
import * as Storage from "@messaging-crm/conformance/Storage"

Storage.portSuite("memory", layer, { runs: Number(process.env["PROPERTY_RUNS"] ?? 50) })
