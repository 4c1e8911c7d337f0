# The image of every Assay process: operator, gateways, witness.
#
#     python3 dev/image/build.py                             # on a Debian base of our own, without any registry
#     docker build --build-arg BASE=python:3.11-slim .       # on a base that can be pulled
#
# BASE needs python3 (3.11 or newer, with venv) and libstdc++. Each FROM below is cached alone, so a change to Assay's own code
# rebuilds the last layer only.
ARG BASE

# Which libraries: the lock file without what only development needs.
FROM ${BASE} AS lock
COPY requirements.txt pyproject.toml dev/image/runtime_lock.py /lock/
RUN python3 /lock/runtime_lock.py /lock/requirements.txt /lock/pyproject.toml > /lock/runtime.txt

# What changes seldom: the user, the entry point, the libraries (compiled, without what no pod imports).
FROM ${BASE} AS libraries
RUN echo 'assay:x:65532:65532:Assay:/tmp:/usr/sbin/nologin' >> /etc/passwd && echo 'assay:x:65532:' >> /etc/group
ENV PATH=/opt/assay/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
ENTRYPOINT ["assay"]
CMD ["--help"]
ARG PIP_OPTIONS=""
COPY dev/image/install_libraries.sh /opt/assay/
COPY --from=lock /lock/runtime.txt /opt/assay/requirements.txt
RUN sh /opt/assay/install_libraries.sh /opt/assay/requirements.txt /opt/assay
USER 65532:65532

# Assay itself, compiled.
FROM ${BASE} AS assay
COPY crds /app/assay/crds
COPY job_templates /app/assay/job_templates
COPY operator/assay /app/assay
RUN python3 -m compileall -q --invalidation-mode unchecked-hash -s /app -p /opt/assay/app /app

FROM libraries
COPY --from=assay /app /opt/assay/app
