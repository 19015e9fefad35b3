@rem npm's scripts begin with "exec", so that the shell gives way to Node and signals reach it. Windows has no such word.
@%*
