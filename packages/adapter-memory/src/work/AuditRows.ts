import type { AuditRecord } from "@messaging-crm/core/Audit"
import * as Changes from "@messaging-crm/core/Changes"

/** The table of the audit's records. */
export const AuditRows = Changes.rows<AuditRecord>()("audit_records", ["id"], [])
