# Node runs the TypeScript as it is; only the page of the desk is built. What is copied is in .dockerignore.
# Node 24.19.0 for amd64, arm64 and s390x. CONTRIBUTING.md says how to renew the digest.
FROM node:24-alpine@sha256:d32cdf619f63fe0471182d08996dd516c6275bb5fd31ae06e55a570bd9e1ad43 AS base
WORKDIR /quoin

FROM base AS desk
COPY . .
RUN npm ci --workspace=@quoin/desk --no-audit --no-fund
RUN node packages/desk/build.ts packages/desk/page.json

FROM base
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm run install:optional && npm cache clean --force

COPY . .
COPY --from=desk /quoin/packages/desk/page.json packages/desk/

ENV HOST=0.0.0.0 METRICS_HOST=0.0.0.0
EXPOSE 3000
# A number, not the name node: Kubernetes can check only a number against runAsNonRoot.
USER 1000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node itself is the process that SIGTERM reaches.
CMD ["node", "-r", "./config/node-version.cjs", "server.ts"]
