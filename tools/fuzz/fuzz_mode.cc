#include "tools/fuzz/fuzz_mode.h"

#include "tools/fuzz/platform_config.h"
#include "tools/fuzz/programs/device_program.h"
#include "tools/fuzz/programs/random_async.h"
#include "tools/fuzz/programs/random_program.h"

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
    {"passes",
     "a few passes, chosen by the text: no pass breaks the module, changes what it computes or "
     "is wrong about what it did",
     CheckPasses, PassesFor, RandomInputOfPasses, WithPasses, /*generated_of_eight=*/1},
    {"platforms",
     "random programs on the CPU and the simulated GPU: no crash, and the interpreter's results",
     CheckPlatforms, DescribePlatforms, RandomProgram, WithConfig},
    {"spmd",
     "random programs with random shardings: partitioned, they give the results of the whole",
     CheckSpmd, nullptr, RandomShardedProgram},
    {"async",
     "random schedules of asynchronous chains and collectives on several devices: the CPU neither "
     "hangs nor computes anything but the interpreter",
     CheckAsync, DescribeAsync, RandomAsyncProgram},
    {"devices",
     "random programs for several devices on the interpreter and the CPU: the results of a "
     "reference without threads",
     CheckDevices, nullptr, RandomDeviceProgram},
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
