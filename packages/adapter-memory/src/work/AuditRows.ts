import type { AuditRecord } from "@messaging-crm/core/Audit"
import * as Table from "../world/Table.ts"

/** The table of audit records. */
export const AuditRows = Table.own<AuditRecord>("audit_records")("id")
