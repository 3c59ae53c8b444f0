// lib/types/window.cc
#include "lib/types/window.h"

#include "lib/types/append.h"

namespace hlo {
namespace {

// " name=AxB", where `append` writes one dimension; nothing if all dimensions have the default.
template <class IsDefault, class Append>
void AppendItem(const Window& window, std::string_view name, IsDefault is_default, Append append,
                std::string& out) {
  bool all_default = true;
  for (const WindowDim& dim : window.dims) all_default = all_default && is_default(dim);
  if (all_default) return;
  out += name;
  for (size_t i = 0; i < window.dims.size(); ++i) {
    if (i > 0) out += 'x';
    append(window.dims[i]);
  }
}

void AppendMember(const Window& window, std::string_view name, int64_t WindowDim::*member,
                  std::string& out) {
  AppendItem(
      window, name, [&](const WindowDim& dim) { return dim.*member == 1; },
      [&](const WindowDim& dim) { AppendInt(dim.*member, out); }, out);
}

}  // namespace

std::string Window::ToString() const {
  std::string out;
  if (dims.empty()) return out;
  out += "size=";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += 'x';
    AppendInt(dims[i].size, out);
  }
  AppendMember(*this, " stride=", &WindowDim::stride, out);
  AppendItem(
      *this, " pad=", [](const WindowDim& dim) { return dim.pad_low == 0 && dim.pad_high == 0; },
      [&](const WindowDim& dim) {
        AppendInt(dim.pad_low, out);
        out += '_';
        AppendInt(dim.pad_high, out);
      },
      out);
  AppendMember(*this, " lhs_dilate=", &WindowDim::base_dilation, out);
  AppendMember(*this, " rhs_dilate=", &WindowDim::window_dilation, out);
  AppendItem(
      *this, " rhs_reversal=", [](const WindowDim& dim) { return !dim.reversal; },
      [&](const WindowDim& dim) { out += dim.reversal ? '1' : '0'; }, out);
  return out;
}

}  // namespace hlo
