# SPDX-License-Identifier: Apache-2.0
#
# Doxygen's input filter (cmake/Doxyfile): the headers have plain // comments,
# and Doxygen reads ///.

# The banner of a file documents the file.
NR == 1 && /^\/\/ SPDX/ { print "/// \\file"; next }

# A comment behind code documents that code, and so does what continues it.
/^ *[^ \/].*[;,{] +\/\/ / { sub(/\/\/ /, "///< "); behind = 1; print; next }
/^ +\/\/ / && behind && match($0, /\/\//) > 20 {
  sub(/\/\/ /, "///< ")
  print
  next
}
{ behind = 0 }

# Indented lines are code or tables: they stay as they are.
/^ *\/\/   / {
  sub(/\/\/ /, verbatim ? "/// " : "/// \\verbatim ")
  verbatim = 1
  print
  next
}
/^ *\/\/( |$)/ {
  sub(/\/\/ ?/, verbatim ? "/// \\endverbatim " : "/// ")
  verbatim = 0
  print
  next
}
verbatim { $0 = "/// \\endverbatim\n" $0; verbatim = 0 }
{ print }
