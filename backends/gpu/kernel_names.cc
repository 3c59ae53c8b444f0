#include "backends/gpu/kernel_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "absl/strings/ascii.h"

namespace hlo::gpu {
namespace {

// Words of PTX that a name of ours might be (PTX ISA 8.5, section 4.3.2 and the instructions after
// it): they are letters and digits, without `_`.
constexpr std::string_view kPtxWords[] = {
    "abs",      "add",       "addc",  "alloca",   "and",        "applypriority", "atom",
    "bar",      "barrier",   "bfe",   "bfi",      "bfind",      "bmsk",          "bra",
    "brev",     "brkpt",     "brx",   "call",     "clz",        "cnot",          "copysign",
    "cos",      "cp",        "cvt",   "cvta",     "discard",    "div",           "dp2a",
    "dp4a",     "elect",     "ex2",   "exit",     "fence",      "fma",           "fns",
    "isspacep", "istypep",   "ld",    "ldmatrix", "ldu",        "lg2",           "lop3",
    "mad",      "mad24",     "madc",  "mapa",     "match",      "max",           "mbarrier",
    "membar",   "min",       "mma",   "mov",      "movmatrix",  "mul",           "mul24",
    "multimem", "nanosleep", "neg",   "not",      "or",         "pmevent",       "popc",
    "prefetch", "prefetchu", "prmt",  "rcp",      "red",        "redux",         "rem",
    "ret",      "rsqrt",     "sad",   "selp",     "set",        "setp",          "shf",
    "shfl",     "shl",       "shr",   "sin",      "slct",       "sqrt",          "st",
    "stmatrix", "sub",       "subc",  "suld",     "suq",        "sured",         "sust",
    "szext",    "tanh",      "testp", "tex",      "tld4",       "trap",          "txq",
    "vote",     "wgmma",     "wmma",  "xor",      "activemask", "griddepcontrol"};

std::string Fit(std::string_view wanted) {
  std::string name(wanted);
  for (char& c : name) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  if (name.empty() || absl::ascii_isdigit(name[0])) name.insert(0, "_");
  if (std::find(std::begin(kPtxWords), std::end(kPtxWords), name) != std::end(kPtxWords))
    name += "_kernel";
  return name;
}

}  // namespace

void NameKernels(std::vector<UniqueKernel>& kernels) {
  std::set<std::string> taken;
  for (UniqueKernel& kernel : kernels) {
    const std::string name = Fit(kernel.name);
    kernel.symbol = name;
    for (int i = 1; !taken.insert(kernel.symbol).second; ++i)
      kernel.symbol = fmt::format("{}_{}", name, i);
  }
}

}  // namespace hlo::gpu
