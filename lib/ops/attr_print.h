// Text of attribute values, exactly as XLA prints them. One overload per value type; used by the
// attribute structs through Fields(), by the printer, and by messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/ops/attrs.h"
#include "lib/ops/attrs_ptr.h"

namespace hlo {

void AppendValue(std::string& out, bool value);
void AppendValue(std::string& out, int64_t value);
void AppendValue(std::string& out, int32_t value);
void AppendValue(std::string& out, float value);                       // %g
void AppendValue(std::string& out, double value);                      // %g
void AppendValue(std::string& out, const std::string& value);          // quoted and C-escaped
void AppendValue(std::string& out, const DimVec& value);               // {1,2}
void AppendValue(std::string& out, const std::vector<DimVec>& value);  // {{1,2},{3}}
void AppendValue(std::string& out, BracedDim value);
void AppendValue(std::string& out, const Window& value);  // {size=3}
void AppendValue(std::string& out, const ConvDimNumbers& value);
void AppendValue(std::string& out, const PaddingConfig& value);
void AppendValue(std::string& out, const PrecisionConfig& value);
void AppendValue(std::string& out, const SliceRanges& value);
void AppendValue(std::string& out, const OutputOperandAliases& value);
void AppendValue(std::string& out, const DevicePairs& value);
void AppendValue(std::string& out, const DomainConfig& value, const AttrPrintOptions& options);
void AppendValue(std::string& out, const SparsityConfig& value);
void AppendValue(std::string& out, const ResultAccuracy& value);
void AppendValue(std::string& out, const ReplicaGroups& value, const AttrPrintOptions& options);
void AppendValue(std::string& out, const std::vector<Shape>& value);
void AppendValue(std::string& out, const std::vector<bool>& value);
void AppendValue(std::string& out, Shape value);
void AppendValue(std::string& out,
                 const Literal& value);  // `literal=` of custom-call: shapes included
template <TextEnum E>
void AppendValue(std::string& out, E value) {
  out += Text(value);
}

}  // namespace hlo
