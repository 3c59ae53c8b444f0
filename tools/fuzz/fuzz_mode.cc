#include "tools/fuzz/fuzz_mode.h"

namespace hlo {
namespace {

constexpr FuzzMode kModes[] = {
    {"parser",
     "parse; errors have a place; what parses is verified, printed in every style, read back and "
     "cloned",
     CheckParser},
    {"proto",
     "a serialized module, binary or as text, becomes HLO text or an error; texts are parsed, "
     "written as a message and read back",
     CheckProto},
};

}  // namespace

std::span<const FuzzMode> FuzzModes() { return kModes; }

const FuzzMode* FindFuzzMode(std::string_view name) {
  for (const FuzzMode& mode : kModes) {
    if (mode.name == name) return &mode;
  }
  return nullptr;
}

}  // namespace hlo
