#pragma once

#define C10_DEPRECATED [[deprecated]]
#define C10_DEPRECATED_MESSAGE(text) [[deprecated(text)]]
