"""The effects of a logged system's stages, and of hard negatives."""
