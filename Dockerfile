# A start from the sources, as in a clone, would take twice the CPU: so they are bundled. .dockerignore says what of them is
# copied. Node 24.19.0 for amd64, arm64 and s390x. CONTRIBUTING.md says how to renew the digest.
FROM node:24-alpine@sha256:d32cdf619f63fe0471182d08996dd516c6275bb5fd31ae06e55a570bd9e1ad43 AS base
WORKDIR /quoin

FROM base AS packages
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm run install:optional && npm cache clean --force

FROM base AS build
COPY . .
# esbuild, and what the page of the desk is made of. What is not there Node and esbuild find in the directory above.
RUN npm ci --workspace=@quoin/desk --no-audit --no-fund
COPY --from=packages /quoin/node_modules /node_modules
RUN node dev/bundle.ts dist
RUN node packages/desk/build.ts dist/packages/desk/page.json

FROM base
COPY --from=packages /quoin/node_modules node_modules/
COPY --from=build /quoin/dist dist/
COPY package.json package-lock.json ./
COPY config/content-model.json config/content-model.schema.json config/
RUN mkdir -p node_modules/.cache/node && chown 1000 node_modules/.cache/node
# A number, not the name node: Kubernetes can check only a number against runAsNonRoot.
USER 1000
# A first start, which must succeed. What Node compiles it keeps for the next ones of the same user, which take two thirds of the CPU.
RUN ENVIRONMENT=build CMS_URL=http://127.0.0.1:9 DYNAMODB_ENDPOINT=http://127.0.0.1:9 node dist/cli.js start & sleep 5; kill $! && wait $!

ENV HOST=0.0.0.0
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node itself is the process that SIGTERM reaches.
CMD ["node", "dist/cli.js", "start"]
