# The image for everything: an agent with all check types (runtimes and a browser included), and the service.
#
#   docker build -t picket .                     one platform
#   docker buildx build --platform linux/amd64,linux/arm64 -t picket .
#
# Arguments
#   BASE_IMAGE      Debian 12 with Node 24; a mirror, or the same with a digest
#   RUNTIMES        ids of the runtimes to bundle, and package-managers, separated by spaces; each must be a folder below runtimes/
#   EXTRA_PACKAGES  Debian packages to add: "g++ make python3 git" for the dev variant, fonts such as "fonts-noto-cjk"
#   VERSION, REVISION, CREATED   for the labels
# Secrets, for registries behind a proxy with a certificate of its own; nothing of them stays in the image
#   --secret id=npmrc,src=FILE   --secret id=ca,src=FILE
ARG BASE_IMAGE=node:24.21.0-bookworm-slim

# The manifests alone: what is installed stays cached until one of them changes.
FROM --platform=${BUILDPLATFORM:-linux/amd64} ${BASE_IMAGE} AS manifests
WORKDIR /manifests
COPY package.json package-lock.json .npmrc ./
COPY src src
RUN find src -type f ! -name package.json -delete && find src -type d -empty -delete

# Compiled on the machine that builds, once for all platforms.
FROM --platform=${BUILDPLATFORM:-linux/amd64} ${BASE_IMAGE} AS build
WORKDIR /build
COPY --from=manifests /manifests ./
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/secrets/ca.crt \
    npm ci --ignore-scripts
COPY src src
COPY scripts/bundle.ts scripts/
# `npm sbom --omit=dev` also omits packages that a development dependency shares with the product.
RUN node scripts/bundle.ts full dist/lib \
    && npm pkg delete devDependencies \
    && npm install --package-lock-only --ignore-scripts --no-audit --no-fund \
    && npm sbom --sbom-format=cyclonedx --package-lock-only > sbom.cdx.json

# What it needs at run time, for the platform of the image.
FROM ${BASE_IMAGE} AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image has its Node; pings go through the kernel's own sockets, so the addon that would need a compiler is left out.
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/secrets/ca.crt \
    npm ci --omit=dev --ignore-scripts \
    && rm -rf node_modules/@picket node_modules/node-linux-* node_modules/.bin node_modules/raw-socket node_modules/net-ping

FROM ${BASE_IMAGE} AS runtimes
WORKDIR /app
COPY runtimes runtimes
COPY src/sandbox/browsers src/sandbox/browsers
COPY src/lib/errors.ts src/lib/package.json src/lib/
COPY scripts/runtimes-install.ts scripts/
RUN mkdir -p node_modules/@picket && ln -s ../../src/lib node_modules/@picket/lib
# Package managers are what Playwright suites are installed with. Type declarations and source maps are half of what is installed,
# and read by no script.
ARG RUNTIMES="2026.04 package-managers"
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/secrets/ca.crt \
    node scripts/runtimes-install.ts ${RUNTIMES} \
    && find runtimes -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete \
    && mkdir /bundled \
    && for id in ${RUNTIMES}; do mv "runtimes/${id}" /bundled/; done

FROM ${BASE_IMAGE}
ARG EXTRA_PACKAGES=""
# util-linux, iproute2 and iptables have what contains scripts (unshare, setpriv, mount, networks of their own). Versions are those of the day: a browser has to be the newest.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      ca-certificates chromium-headless-shell ffmpeg fonts-liberation fonts-noto-color-emoji iproute2 iptables \
      libgssapi-krb5-2 libnss3-tools tini util-linux \
      ${EXTRA_PACKAGES} \
    && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/cache/debconf
WORKDIR /app
COPY --from=modules /app/node_modules node_modules
COPY --from=runtimes /bundled runtimes
COPY --from=build /build/dist dist
COPY --from=build /build/sbom.cdx.json ./
COPY package.json LICENSE ./
# For `docker exec AGENT picket doctor`.
RUN printf '#!/bin/sh\nexec node /app/dist/lib/cli.js "$@"\n' > /usr/local/bin/picket && chmod 755 /usr/local/bin/picket

# Two heaps of the C library for all threads, instead of eight for each processor. Scripts get an environment of their own.
ENV NODE_ENV=production \
    HOME=/tmp \
    DATA_DIR=/data \
    MALLOC_ARENA_MAX=2
# What is written goes to volumes: a new one gets the rights of these folders.
RUN mkdir -m 1777 /data /var/spool/picket
# A number, so that Kubernetes can tell that it is not root. Any other works as well.
USER 10001:10001
EXPOSE 8080 8081
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "/app/dist/lib/health-probe.js"]
# tini is process 1: it passes signals on and waits for orphans, which browsers leave behind. Few objects outlive a check: 24 MB
# for new ones, as in the threads, and from the start, so that what a start makes is not copied again and again (ADR 23).
ENTRYPOINT ["/usr/bin/tini", "--", "node", "--max-semi-space-size=8", "--min-semi-space-size=8", "/app/dist/lib/cli.js"]
CMD ["agent"]

ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="Picket" \
      org.opencontainers.image.description="Synthetic monitoring inside your own network: agent with all check types, and service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
