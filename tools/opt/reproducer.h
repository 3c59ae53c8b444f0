// Files that repeat a failure: the module before the failing pass, below a line with the flags that
// hlo-opt takes when it is given nothing but the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// A new file of the folder for reproducers: `module`, the one before pass `pass` failed, below
// `flags` as a shell takes them. A note that says how to repeat the failure; empty when the file
// could not be written.
std::string WriteReproducer(const Module& module, std::string_view pass, std::string_view flags);
// The first line of a reproducer: flags as a shell takes them.
std::string ReproducerHead(std::string_view flags);
// The text of a reproducer.
std::string ReproducerText(const Module& module, std::string_view flags);
// The flags that the text asks for, as words, if it is that of a reproducer.
std::optional<std::vector<std::string>> ReproducerFlags(std::string_view text);

}  // namespace hlo
