// Fields that are optional and have the names of the members, each said once:
//
//   struct CallInlinerOptions {
//     bool single_call_site = false;
//     bool update_domain = false;
//     HLO_OPTIONS(CallInlinerOptions, single_call_site, update_domain)
//   };
#pragma once

#include "lib/support/fields.h"

#define HLO_OPTIONS(Struct, ...) \
  static auto Fields() { return std::tuple{HLO_RESCAN_64(HLO_OPTION(Struct, __VA_ARGS__))}; }
// The first member, and what becomes this macro for the others when it is read again.
#define HLO_OPTION(Struct, member, ...)     \
  ::hlo::Optional(#member, &Struct::member) \
      __VA_OPT__(, HLO_OPTION_AGAIN HLO_NO_ARGUMENTS(Struct, __VA_ARGS__))
#define HLO_OPTION_AGAIN() HLO_OPTION
#define HLO_NO_ARGUMENTS ()
#define HLO_RESCAN_64(...) HLO_RESCAN_16(HLO_RESCAN_16(HLO_RESCAN_16(HLO_RESCAN_16(__VA_ARGS__))))
#define HLO_RESCAN_16(...) HLO_RESCAN_4(HLO_RESCAN_4(HLO_RESCAN_4(HLO_RESCAN_4(__VA_ARGS__))))
#define HLO_RESCAN_4(...) HLO_RESCAN_1(HLO_RESCAN_1(HLO_RESCAN_1(HLO_RESCAN_1(__VA_ARGS__))))
#define HLO_RESCAN_1(...) __VA_ARGS__
