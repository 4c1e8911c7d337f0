#!/bin/sh
echo "report of $(date +%Y)"
