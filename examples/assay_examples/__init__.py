"""Builds the example tasks: recipes in, images and manifests out, and what direct execution of the same trees gives."""
