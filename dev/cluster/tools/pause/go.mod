module assay.dev/dev/cluster/tools/pause

go 1.26.0
