# The service as an image: `docker build -t messaging-crm .`. docs/deploy.md says how to run it.
# .ci/deploy.mjs runs each RUN line, and what is started at the end, where there is no container engine.

FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages ./packages
RUN npm ci --omit=dev --omit=optional --workspace packages/server --include-workspace-root=false --ignore-scripts --no-audit --no-fund
RUN rm -rf packages/client packages/conformance packages/*/test packages/*/testing packages/*/faults packages/*/browser

FROM node:26-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app ./
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}/health/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "packages/server/src/main.ts"]
CMD ["serve"]
