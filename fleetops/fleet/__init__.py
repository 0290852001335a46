"""Operations over hosts: the only layer that composes the ones below."""
