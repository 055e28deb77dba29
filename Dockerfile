# The image for everything: an agent with all check types (runtimes and a browser included), and the service.
#
#   docker build -t picket .                     one platform
#   docker buildx build --platform linux/amd64,linux/arm64 -t picket .
#
# Arguments
#   BASE_IMAGE      Debian 12 with Node 24; a mirror, or the same with a digest
#   RUNTIMES        ids of the runtimes to bundle, and package-managers, separated by spaces; each must be a folder below runtimes/
#   BROWSERS        browsers of Playwright to add: "firefox webkit"; BROWSERS_HOST is a mirror to download them from
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
COPY scripts/bundle scripts/bundle
# `npm sbom --omit=dev` also omits packages that a development dependency shares with the product.
RUN node scripts/bundle.ts full dist/lib \
    && npm pkg delete devDependencies \
    && npm install --package-lock-only --ignore-scripts --no-audit --no-fund \
    && npm sbom --sbom-format=cyclonedx --package-lock-only > sbom.cdx.json

# What the bundle loads at run time, for the platform of the image.
FROM ${BASE_IMAGE} AS modules
WORKDIR /app
COPY --from=manifests /manifests ./
# The image has its Node; pings go through the kernel's own sockets, so the addon that would need a compiler is left out.
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/secrets/ca.crt \
    npm ci --omit=dev --ignore-scripts
COPY scripts/bundle scripts/bundle
RUN node scripts/bundle/modules.ts /bundled/node_modules

# What a browser needs here apart from itself, as one Debian package: an ffmpeg that only writes the videos of Playwright
# (pictures in, VP8 out), where Debian's brings every codec, Mesa and LLVM; and x11-utils and xdg-utils by name, which
# Debian's Chromium asks for, and which bring Mesa too, though no browser without a display calls them.
FROM ${BASE_IMAGE} AS ffmpeg
WORKDIR /build
RUN sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/*.sources \
    && apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      dpkg-dev gcc libc6-dev libvpx-dev make nasm pkg-config \
    && apt-get source ffmpeg \
    && rm -rf /var/lib/apt/lists/*
RUN cd ffmpeg-*/ \
    && ./configure --prefix=/usr --disable-everything --disable-autodetect --disable-doc --disable-debug --disable-network \
      --disable-ffplay --disable-ffprobe --disable-avdevice --disable-swresample --extra-ldflags=-static \
      --enable-libvpx --enable-encoder=libvpx_vp8 --enable-decoder=mjpeg --enable-parser=mjpeg --enable-demuxer=image2pipe \
      --enable-muxer=webm --enable-protocol=file --enable-protocol=pipe \
      --enable-filter=crop --enable-filter=pad --enable-filter=scale --enable-filter=format --enable-filter=null \
    && make -j"$(nproc)" ffmpeg \
    && mkdir -p /package/DEBIAN /package/usr/bin /package/usr/share/doc/picket-headless \
    && cp ffmpeg /package/usr/bin/ \
    && cp COPYING.LGPLv2.1 debian/copyright /package/usr/share/doc/picket-headless/ \
    && printf '%s\n' 'Package: picket-headless' "Version: $(dpkg-parsechangelog -S Version)" \
      "Architecture: $(dpkg --print-architecture)" 'Maintainer: Picket' 'Provides: ffmpeg, x11-utils, xdg-utils' \
      'Conflicts: ffmpeg' 'Description: what a browser without a display needs: an ffmpeg for videos, no display tools' \
      > /package/DEBIAN/control \
    && dpkg-deb --build --root-owner-group /package /picket-headless.deb

FROM ${BASE_IMAGE} AS runtimes
WORKDIR /app
COPY runtimes runtimes
COPY src/sandbox/browsers src/sandbox/browsers
COPY src/lib/errors.ts src/lib/package.json src/lib/
COPY scripts/runtimes-install.ts scripts/
RUN mkdir -p node_modules/@picket && ln -s ../../src/lib node_modules/@picket/lib
# Package managers are what Playwright suites are installed with. Type declarations, sources, source maps and documents are half of
# what is installed, and read by no script; neither are addons of other systems.
ARG RUNTIMES="2026.04 package-managers"
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/secrets/ca.crt \
    node scripts/runtimes-install.ts --no-compile ${RUNTIMES} \
    && find runtimes -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -name '*.md' -o -path '*/src/*.ts' \) -delete \
    && find runtimes -depth -type d -path '*/prebuilds/*-*' ! -name 'linux-*' -exec rm -r {} + \
    && mkdir /bundled \
    && for id in ${RUNTIMES}; do mv "runtimes/${id}" /bundled/; done
ARG BROWSERS=""
ARG BROWSERS_HOST=""
# Each runtime has its own version of Playwright, and each of those its own builds. Its ffmpeg counts as installed: runs
# have that of the image.
RUN --mount=type=secret,id=ca,target=/run/secrets/ca.crt \
    if [ -n "${BROWSERS}" ]; then \
      if [ -s /run/secrets/ca.crt ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca.crt; fi; \
      if [ -n "${BROWSERS_HOST}" ]; then export PLAYWRIGHT_DOWNLOAD_HOST="${BROWSERS_HOST}"; fi; \
      for cli in /bundled/*/node_modules/playwright-core/cli.js; do \
        ffmpeg=/bundled/browsers/ffmpeg-$(node -p 'require(process.argv[1]).browsers.find(({ name }) => name === "ffmpeg").revision' \
          "$(dirname "${cli}")/browsers.json") && mkdir -p "${ffmpeg}" && touch "${ffmpeg}/INSTALLATION_COMPLETE" || exit 1; \
        PLAYWRIGHT_BROWSERS_PATH=/bundled/browsers PLAYWRIGHT_SKIP_BROWSER_GC=1 node "${cli}" install ${BROWSERS} || exit 1; \
      done; \
      rm -r /bundled/browsers/ffmpeg-*; \
    fi

FROM ${BASE_IMAGE}
ARG EXTRA_PACKAGES=""
# util-linux, iproute2 and iptables have what contains scripts (unshare, setpriv, mount, networks of their own). Versions are those of the day: a browser has to be the newest.
RUN --mount=from=ffmpeg,source=/picket-headless.deb,target=/picket-headless.deb \
    apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      /picket-headless.deb ca-certificates chromium-headless-shell fonts-liberation fonts-noto-color-emoji iproute2 iptables \
      libgssapi-krb5-2 libnss3-tools tini util-linux \
      ${EXTRA_PACKAGES} \
    # Drivers for tests of Vulkan: 24 MB that no browser loads.
    && rm -f /usr/lib/chromium/libVkLayer_khronos_validation.so* /usr/lib/chromium/libVkICD_mock_icd.so* \
    && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/cache/debconf /var/cache/apt
WORKDIR /app
COPY --from=modules /bundled/node_modules node_modules
COPY --from=runtimes /bundled runtimes
ARG BROWSERS=""
# The libraries that they need.
RUN if [ -n "${BROWSERS}" ]; then \
      for cli in runtimes/*/node_modules/playwright-core/cli.js; do node "${cli}" install-deps ${BROWSERS} || exit 1; done \
      && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/cache/debconf; \
    fi
COPY --from=build /build/dist dist
COPY --from=build /build/sbom.cdx.json ./
COPY package.json LICENSE ./
# The modules that scripts load, compiled by the Node that is in the image; scripts read that, and none can write it.
RUN for id in runtimes/*.*; do \
      [ -d "${id}" ] || continue; \
      node dist/lib/program/compile-modules.mjs "${id}/node_modules" /usr/lib/chromium/chromium-headless-shell || exit 1; \
    done
# What an agent and a service run when they start, compiled by the same Node: both are started once.
RUN --mount=source=scripts/bundle/compile.mjs,target=/tmp/compile.mjs node /tmp/compile.mjs dist/lib agent service
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
