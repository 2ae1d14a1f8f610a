# The service as an image: `docker build -t messaging-crm .`. docs/deploy.md describes how to run it.
# .ci/deploy.mjs runs each RUN line and the start command without a container engine.

# The bundle is the same for every processor.
FROM --platform=$BUILDPLATFORM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages ./packages
RUN npm ci --workspace packages/server --include-workspace-root=false --ignore-scripts --no-audit --no-fund
RUN node packages/server/scripts/bundle.ts

FROM node:26-bookworm-slim
ENV NODE_ENV=production
# docs/performance.md explains these limits and the V8 flags.
ENV MALLOC_ARENA_MAX=1
ENV MALLOC_MMAP_THRESHOLD_=65536
WORKDIR /app
COPY --from=build /app/dist ./dist
# The user `node`, by its number: Kubernetes rejects a name with `runAsNonRoot`.
USER 1000
EXPOSE 3000
# A worker serves only /metrics, on METRICS_PORT. Without that setting, the check verifies its process.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "-e", "const { METRICS_PORT, PORT = 3000 } = process.env; const isWorker = require('node:fs').readFileSync('/proc/1/cmdline', 'utf8').split('\\0').includes('worker'); const url = isWorker ? METRICS_PORT && `http://127.0.0.1:${METRICS_PORT}/metrics` : `http://127.0.0.1:${PORT}/health/ready`; url ? fetch(url).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1)) : process.exit(0)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--max-semi-space-size=16", "--heap-growing-percent=40", "--no-allocation-site-pretenuring", "dist/main.js"]
CMD ["serve"]
