// The platform `interpreter`: the evaluator of lib/eval behind the interface of back ends. It runs
// no passes, so what it computes is the module as written; every other platform is compared with
// it.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace hlo {

std::unique_ptr<Backend> MakeInterpreterBackend();

}  // namespace hlo
