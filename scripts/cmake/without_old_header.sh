#!/bin/sh
# Runs a compiler, for which ccache stands. Where it precompiles a header, the old form of that header goes first: the preprocessor would
# take it in place of the text, and ccache know the new one by it, whatever it says now.
for word; do
  case $word in *.gch) rm -f "$word" ;; esac
done
exec "$@"
