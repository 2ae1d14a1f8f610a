#!/usr/bin/env -S node --heap-growing-percent=40 --no-allocation-site-pretenuring
import "./requireNode.mjs"

// An older Node cannot load the modules of the program. A static import would load them before the check.
await import("./Program.ts")
