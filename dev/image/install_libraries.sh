#!/bin/sh
# Install the locked libraries into a virtual environment that imports Assay from its own folder.
# Usage: [PIP_OPTIONS=…] install_libraries.sh LOCK ENVIRONMENT
set -eu
lock=$1 environment=$2

python3 -m venv "$environment"
# Unquoted on purpose: several options.
"$environment/bin/pip" install -q --no-compile --no-cache-dir --only-binary :all: --require-hashes ${PIP_OPTIONS:-} -r "$lock"
site=$("$environment/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$environment/bin/pip" uninstall -q -y pip setuptools 2>/dev/null

# Headers, sources, tests and the RPC server of Arrow: nothing imports them here.
rm -rf "$site"/pyarrow/include "$site"/pyarrow/tests "$site"/pyarrow/src "$site"/pyarrow/libarrow_flight.so* "$site"/pyarrow/_flight*.so
find "$site" \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.pyi' -o -name '*.c' -o -name '*.h' \) -delete

# Assay lies beside the libraries, so that its layer can change alone.
echo "$environment/app" > "$site/assay.pth"
cat > "$environment/bin/assay" <<SCRIPT
#!$environment/bin/python3
from assay.cli.main import main

main()
SCRIPT
chmod 755 "$environment/bin/assay"

# Bytecode that is trusted as it is: no file's time is looked at when a pod starts.
find "$site" -name __pycache__ -prune -exec rm -rf {} +
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$site"

# What the trimming above must not have broken.
"$environment/bin/python3" -c 'import aiohttp, kopf, kubernetes.aio, pyarrow.dataset, pyarrow.fs, pyarrow.json, pyarrow.parquet, typer'
