# One executable in a small image with the libraries it needs. docs/install.md explains how to use it.

FROM node:20-bookworm AS build
WORKDIR /src
COPY .npmrc package.json package-lock.json ./
COPY packages/admin/package.json packages/admin/
COPY packages/client/package.json packages/client/
COPY packages/cloud/package.json packages/cloud/
COPY packages/protocol/package.json packages/protocol/
COPY packages/server/package.json packages/server/
COPY packages/shell/package.json packages/shell/
COPY packages/web/package.json packages/web/
RUN npm ci
COPY LICENSE tsconfig.json ./
COPY bin bin
COPY build build
COPY packages packages
# For "berth version": --build-arg COMMIT=$(git rev-parse HEAD) --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
ARG COMMIT=
ARG SOURCE_DATE_EPOCH=
# The base image below lacks libatomic. A new volume gets the owner of the empty folder.
RUN npm run build \
  && mkdir -p /out/data \
  && cp -L "/usr/lib/$(uname -m)-linux-gnu/libatomic.so.1" /out/

FROM debian:bookworm-slim
COPY --from=build /out/libatomic.so.1 /usr/lib/
COPY --from=build /src/dist/LICENSES.txt /usr/share/doc/berth/
COPY --from=build --chown=65532:65532 /out/data /var/lib/berth
COPY --from=build /src/dist/berth /usr/local/bin/berth
# Requests from outside may look like local ones here, so local callers get no rights without credentials.
ENV BERTH_HOST=0.0.0.0 BERTH_AUTH_LOCAL_ADMIN=never
USER 65532:65532
WORKDIR /var/lib/berth
VOLUME ["/var/lib/berth"]
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 \
  CMD ["/usr/local/bin/berth", "status"]
ENTRYPOINT ["/usr/local/bin/berth"]
CMD ["serve"]
