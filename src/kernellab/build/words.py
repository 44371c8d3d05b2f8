"""Names that mean something in C and CUDA C++ before any text is read. As parameters they would be macros over them."""

from __future__ import annotations

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
    new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
    restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor
    xor_eq _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary
    _Noreturn _Static_assert _Thread_local _Float16 _Float32 _Float64 _Float128 _Pragma
"""
_PREPROCESSOR = "define defined elif else endif error ifdef ifndef include line pragma undef warning embed omp"
_GIVEN = """
    main NULL EOF NAN INFINITY HUGE_VAL HUGE_VALF INT_MAX INT_MIN LONG_MAX LONG_MIN UINT_MAX FLT_MAX FLT_MIN FLT_EPSILON
    DBL_MAX DBL_MIN DBL_EPSILON M_PI M_E M_LN2 M_LOG2E CHAR_BIT SIZE_MAX errno stdin stdout stderr assert offsetof
    linux unix i386 size_t ssize_t ptrdiff_t intptr_t uintptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t
    uint64_t threadIdx blockIdx blockDim gridDim warpSize dim3 half nv_bfloat16 std cuda
"""
WORDS_OF_C = frozenset(f"{_KEYWORDS} {_PREPROCESSOR} {_GIVEN}".split())
